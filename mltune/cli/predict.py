"""x."""
EXAMPLE="x"
def declare(p): pass
def run(a): return 0
