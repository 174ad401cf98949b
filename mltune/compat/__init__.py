"""Other systems' files and protocols: Tensile, AutoGEMM, GEMMbench, Kernel Tuner, CLBlast, T4."""
