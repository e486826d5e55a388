import { usageError } from './exit-codes.ts';

/**
 * Returns the URL for a full address, or for a short one on this machine: `4000`, `:4000/hook`,
 * `localhost:4000/hook`. @throws CliError for any other text
 */
export function forwardAddress(text: string): string {
  const url = URL.parse(whole(text.trim()));
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw usageError(`--forward: "${text}" is not an http or https address`);
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError('--forward: an address must not contain a user name or password');
  }
  url.hash = '';
  return url.href;
}

function whole(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  if (/^:?\d+(?:[/?]|$)/.test(text)) return `http://localhost:${text.replace(/^:/, '')}`;
  return `http://${text}`;
}
