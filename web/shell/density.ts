import { useState } from 'react';

/** How close the rows of tables and lists are. */
export type Density = 'comfortable' | 'compact';

/** The same key as in index.html, which sets the density before the first paint. */
const KEY = 'baton-density';

/** Returns the density of this browser, and a function that changes and stores it. */
export function useDensity(): [Density, (density: Density) => void] {
  const [density, setDensity] = useState(currentDensity);
  return [
    density,
    (next) => {
      document.documentElement.dataset['density'] = next;
      setDensity(next);
      try {
        localStorage.setItem(KEY, next);
      } catch {
        // A browser without storage forgets it with the page.
      }
    },
  ];
}

function currentDensity(): Density {
  return document.documentElement.dataset['density'] === 'compact' ? 'compact' : 'comfortable';
}
