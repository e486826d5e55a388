/** A wording that is hard to read, and its replacement. */
export type WordingRule = { wrong: RegExp; better: string };

/** The worst wordings. Add one here when you have replaced it everywhere. */
export const WORDING_RULES: readonly WordingRule[] = [
  { wrong: /\bcan not\b/i, better: 'cannot' },
  { wrong: /\bmeanwhile\b/i, better: 'name the period, or leave it out' },
  { wrong: /\bfor good\b/i, better: 'permanently' },
  { wrong: /\bof late\b/i, better: 'recently' },
  { wrong: /\bin (?:its|their) midst\b/i, better: 'during' },
  { wrong: /\b(?:tell|tells|told|telling) of\b/i, better: 'report' },
  { wrong: /\b(?:take|takes|took|taken|taking) in\b/i, better: 'accept' },
  { wrong: /\bstands? in\b/i, better: 'is in' },
  { wrong: /\bcom(?:e|es|ing) to nothing\b/i, better: 'fails' },
  { wrong: /\bgently\b/i, better: 'say the figure, or "gradually"' },
  { wrong: /\bwhoever\b/i, better: 'name the person or the program' },
  { wrong: /\bwish(?:es|ed)?\b/i, better: 'request' },
  { wrong: /\bknown weakness(?:es)?\b/i, better: 'known vulnerabilities' },
  { wrong: /\bthere is no such thing\b/i, better: 'not found' },
  { wrong: /\bthe way of\b/i, better: 'the path or the flow of' },
  { wrong: /\bmend(?:ed|s|ing)?\b/i, better: 'fix' },
  { wrong: /\bhad (?:a )?trouble\b/i, better: 'failed' },
  { wrong: /\bputs? (?:\S+ ){1,3}right\b/i, better: 'fixes' },
  { wrong: /(?:\/\*\*|\*) Answers\b/, better: 'Returns' },
  { wrong: /\bin between\b/i, better: 'since, before that, or name the period' },
  { wrong: /\bgo(?:es|ing)? on\b/i, better: 'continue' },
  { wrong: /\bunder way\b/i, better: 'in progress' },
  { wrong: /\bat work\b/i, better: 'running, in progress' },
  { wrong: /\blook(?:s|ed|ing)? at\b/i, better: 'read, check' },
  { wrong: /\bhand(?:s|ed|ing)? over\b/i, better: 'submit, pass, send' },
  { wrong: /\banew\b/i, better: 'again, or name the change' },
];

export type WordingFault = { line: number; found: string; better: string };

/** Returns the wrong wording in a text, line by line; in a source file also in names. */
export function faultsInText(text: string, rules: readonly WordingRule[] = WORDING_RULES): WordingFault[] {
  return text.split('\n').flatMap((line, index) =>
    rules.flatMap(({ wrong, better }) => {
      const found = wrong.exec(line)?.[0];
      return found === undefined ? [] : [{ line: index + 1, found, better }];
    }),
  );
}

/** Returns the wrong wording in the prose of a Markdown text. Code, inline code and comments are not read. */
export function faultsInProse(markdown: string): WordingFault[] {
  const blank = (text: string) => text.replace(/[^\n]/g, ' ');
  const prose = markdown
    .replace(/^ *```[\s\S]*?^ *```/gm, blank)
    .replace(/<!--[\s\S]*?-->/g, blank)
    .replace(/`[^`\n]*`/g, blank)
    .replace(/\]\([^)\n]*\)/g, blank);
  return faultsInText(prose);
}
