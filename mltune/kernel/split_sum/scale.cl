    TYPE result = (TYPE)(0);
