int *_errno(void);
#define errno (*_errno())
#define ENOENT 2
