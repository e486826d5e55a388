import { lazyRouteComponent } from '@tanstack/react-router';

/*
 * Parts of the list of runs whose code is loaded after the list. `preload` loads it before they are opened: React waits 300 ms
 * before it shows a part whose code was missing.
 */
export const RunPanel = lazyRouteComponent(() => import('./run-panel.tsx'), 'RunPanel');
export const SubmitTask = lazyRouteComponent(() => import('./submit-task.tsx'), 'SubmitTask');
