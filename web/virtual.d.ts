/** Made by the build, see component-styles.ts. */
declare module 'virtual:component-styles';
