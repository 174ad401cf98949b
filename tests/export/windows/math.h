#define HUGE_VAL ((double)__builtin_huge_val())
#define INFINITY __builtin_huge_valf()
#define NAN __builtin_nanf("0")
double fabs(double);
double erf(double);
double exp(double);
double hypot(double, double);
double ldexp(double, int);
double log1p(double);
double sqrt(double);
double tanh(double);
