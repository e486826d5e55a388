type Key = { key: string; ctrlKey: boolean; metaKey: boolean; isComposing: boolean };

/**
 * Returns what a key does in a form that only its buttons and Ctrl+Enter save: Enter in a field would submit the form by
 * default, and must not. `default` leaves the key to the browser.
 */
export function actionOfKey({ key, ctrlKey, metaKey, isComposing }: Key, isField: boolean) {
  if (key !== 'Enter' || isComposing) return 'default';
  if (ctrlKey || metaKey) return 'save';
  return isField ? 'stay' : 'default';
}
