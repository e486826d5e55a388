import { webhookPlan } from '../../../../src/domain/webhooks/webhook-plan.ts';
import { checked } from '../../../forms/check.ts';

/** What is to be said of an address while it is typed: what is wrong with it, what to think of, or that it is good. */
export type Judgement = { kind: 'none' | 'wrong' | 'careful' | 'good'; words: string };

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

/** Judges an address by itself. What a name leads to is judged by the service, at each attempt. */
export function judgeUrl(given: string): Judgement {
  const url = given.trim();
  if (url === '' || 'https://'.startsWith(url.toLowerCase())) return { kind: 'none', words: '' };
  const wrong = checked(webhookPlan.shape.url, url)[''];
  if (wrong) return { kind: 'wrong', words: wrong };
  const { protocol, hostname } = new URL(url);
  if (PRIVATE.some((form) => form.test(hostname))) {
    const words = 'Private address: delivery works only if your administrator allows it.';
    return { kind: 'careful', words };
  }
  if (protocol === 'http:') {
    return {
      kind: 'careful',
      words: 'Not encrypted: others on the network can read and change requests.',
    };
  }
  return { kind: 'good', words: 'Encrypted. Name and certificate are verified at each attempt.' };
}
