import { webhookPlan } from '../../../../src/domain/webhooks/webhook-plan.ts';
import { validate } from '../../../forms/validate.ts';

/** The result of checking a URL while it is typed: an error, a warning, or success. */
export type UrlCheck = { kind: 'none' | 'wrong' | 'careful' | 'good'; text: string };

const PRIVATE = [
  /^localhost\.?$/i,
  /\.localhost\.?$/i,
  /^127\./,
  /^10\./,
  /^192\.168\./,
  /^172\.(1[6-9]|2\d|3[01])\./,
  /^169\.254\./,
  /^\[(::1|f[cd]|fe80)/i,
];

/** Checks a URL without resolving its host name. The server checks the resolved address at each attempt. */
export function checkUrl(given: string): UrlCheck {
  const url = given.trim();
  if (url === '' || 'https://'.startsWith(url.toLowerCase())) return { kind: 'none', text: '' };
  const wrong = validate(webhookPlan.shape.url, url)[''];
  if (wrong) return { kind: 'wrong', text: wrong };
  const { protocol, hostname } = new URL(url);
  if (PRIVATE.some((form) => form.test(hostname))) {
    const text = 'Private address. Baton sends to it only if an operator allows it (OUTBOUND_ALLOW).';
    return { kind: 'careful', text };
  }
  if (protocol === 'http:') {
    return {
      kind: 'careful',
      text: 'Not encrypted. Others on the network can read and change requests.',
    };
  }
  return { kind: 'good', text: 'Encrypted. The host name and certificate are verified at each attempt.' };
}
