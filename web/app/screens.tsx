import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createQueryClient } from '../api/query-client.ts';
import { createScreensRouter } from './router.ts';
import { watchSession } from '../routing/session-end.ts';
import { cssVariables, theme } from './theme.ts';

/** The same key as in index.html, which sets the scheme before the first paint. */
const colorSchemes = localStorageColorSchemeManager({ key: 'baton-color-scheme' });

const queryClient = createQueryClient(() => session.ended());
const router = createScreensRouter(queryClient);
const session = watchSession(router, queryClient);

/** Renders the application with its providers. `nonce` lets the libraries insert styles into the page. */
export function Screens({ nonce }: { nonce: string }) {
  return (
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={colorSchemes}
      cssVariablesResolver={cssVariables}
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" limit={3} />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
