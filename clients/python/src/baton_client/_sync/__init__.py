# Generated from _async/__init__.py by dev/docs/main.ts.
