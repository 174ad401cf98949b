    if (mine && slice == 0) {
${store}
    }
