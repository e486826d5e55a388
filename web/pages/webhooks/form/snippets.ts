import goReceiver from '../../../../examples/receivers/go/main.go?raw';
import pythonReceiver from '../../../../examples/receivers/python/receiver.py?raw';
// The linter looks for a default export in the file itself, not in its text.
// oxlint-disable-next-line import/default
import typescriptReceiver from '../../../../examples/receivers/typescript/receiver.ts?raw';

/** The code of an example receiver: the verification, and the whole example. */
export type Snippet = { language: string; check: string; whole: string };

/** The examples of this service, which its tests run against real deliveries. */
export const SNIPPETS: readonly Snippet[] = [
  {
    language: 'TypeScript',
    check: between(typescriptReceiver, '/** During the rotation of a secret', 'function eventIn'),
    whole: typescriptReceiver,
  },
  {
    language: 'Python',
    check: dedent(between(pythonReceiver, '    def is_genuine', '    def answer')),
    whole: pythonReceiver,
  },
  {
    language: 'Go',
    check: between(goReceiver, '// isGenuine checks', '// receive returns'),
    whole: goReceiver,
  },
];

/** Returns the part of an example between two texts; all of it if they are missing. */
function between(text: string, from: string, to: string): string {
  const start = text.indexOf(from);
  const end = text.indexOf(to, start);
  return start === -1 || end === -1 ? text : text.slice(start, end).trimEnd();
}

function dedent(text: string): string {
  return text.replace(/^ {4}/gm, '');
}
