import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core';

/** From nearly white to nearly black; 6 under white text and 4 on black have a contrast above 4.5 : 1. */
const brand: MantineColorsTuple = [
  '#eef0ff',
  '#dde1fb',
  '#b9c0f2',
  '#939dea',
  '#8b97f0',
  '#5465dc',
  '#3b4fd8',
  '#3142bd',
  '#2a39a5',
  '#1f2c86',
];

/** From text to the deepest background; bluish like the panels. */
const dark: MantineColorsTuple = [
  '#d5d9e0',
  '#b9c0ca',
  '#8d96a3',
  '#606975',
  '#3d444e',
  '#343a43',
  '#282d34',
  '#1d2025',
  '#191c20',
  '#131518',
];

export const theme = createTheme({
  primaryColor: 'brand',
  colors: { brand, dark },
  primaryShade: 6,
  autoContrast: true,
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily:
    'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  headings: {
    fontWeight: 'var(--weight-strong)',
    sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.125rem' } },
  },
  defaultRadius: 'md',
  components: {
    // The first item takes the focus. The default placeholder is not allowed inside a menu.
    // Without a portal, the menu stays in the landmark of its button.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false, withinPortal: false } },
    // The default role, banner, would be ambiguous with the page's own.
    ModalHeader: { defaultProps: { role: 'none' } },
  },
});

/** Dimmed text with enough contrast: the library's own grey is too light for WCAG AA. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#566070',
    '--mantine-color-placeholder': '#6b7280',
    '--mantine-color-error': '#c2252b',
  },
  dark: {
    '--mantine-color-dimmed': '#a6afbd',
    '--mantine-color-placeholder': '#98a1b0',
    '--mantine-color-error': '#ff8f8f',
  },
});
