/*
 * Tells Stryker what to leave unchanged: texts that people read. A test that compares every word of them would only
 * repeat them. Codes, states and names that programs compare are mutated.
 */

/** The parts of Babel's syntax tree that this file reads. */
type Node = { type: string; name?: string; callee?: Node; property?: Node; key?: Node; id?: Node };
type Path = { key: string | number; listKey?: string; parent: Node | null };

/** Functions and methods whose arguments only describe a schema in the generated documents. */
const DESCRIPTIONS = ['describe', 'meta', 'shownAs'];
/** Functions and errors that take a code or a rule, then a message. */
const WITH_CODE = ['fieldProblem', 'OutboundFailure', 'Problem', 'refine', 'regex', 'TokenError'];
/** Tables of messages by their codes, and examples in descriptions. */
const SHOWN = /^(?:CHANNEL_CODES|EXAMPLE)/;
/** Errors, and a function that creates one, that begin with the message. */
const ERROR = /(?:Error|Unreachable)$|^tooMany$/;

/** Returns why a part of the code is not mutated, or undefined if it is. */
function shouldIgnore({ key, listKey, parent }: Path): string | undefined {
  if (!parent) return undefined;
  if (key === 'value' && parent.key?.name === 'description') return 'a description for people';
  if (key === 'init' && SHOWN.test(parent.id?.name ?? '')) return 'messages or examples for people';
  return listKey === 'arguments' ? reasonOfArgument(key, parent) : undefined;
}

function reasonOfArgument(key: string | number, parent: Node): string | undefined {
  const called = parent.callee?.name ?? parent.callee?.property?.name ?? '';
  if (DESCRIPTIONS.includes(called)) return 'describes a schema in the documents';
  const position = WITH_CODE.includes(called) ? 1 : ERROR.test(called) ? 0 : -1;
  return key === position ? 'the text of a message' : undefined;
}

export const strykerPlugins = [{ kind: 'Ignore', name: 'texts', value: { shouldIgnore } }];
