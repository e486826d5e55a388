import type { ProblemEntry } from '../../domain/common/validation.ts';
import { judgeUrlHost, type AddressGuard } from '../../outbound/address-guard.ts';

/**
 * Checks an IP address that the URL in a field of the body contains. A name is resolved and checked at each attempt.
 * Returns the problem if the address is not allowed.
 */
export function hostProblems(guard: AddressGuard, field: string, url: string): ProblemEntry[] {
  const judgement = judgeUrlHost(new URL(url), guard);
  if (judgement.allowed) return [];
  const message = `\`${field}\` is not allowed: ${judgement.reason}.`;
  return [{ pointer: `/${field}`, code: 'not_allowed', message }];
}
