import { globSync, readFileSync } from 'node:fs';
import { inCheckout } from '../common/paths.ts';

/** The commands and links of a page, in their order. */
export type Part =
  /** A fenced block: its language, its text, and the notes in the comments right above it. */
  | { kind: 'block'; line: number; language: string; text: string; notes: string[] }
  /** A separate comment: a note to the program that runs the page. */
  | { kind: 'note'; line: number; text: string }
  | { kind: 'heading'; line: number; anchor: string }
  | { kind: 'link'; line: number; target: string };

/** A page: its path below the checkout, with slashes, and its parts. */
export type Page = { path: string; parts: Part[] };

const FENCE = /^( *)(`{3,})\s*([\w-]*)\s*$/;
const COMMENT = /^ *<!--\s*(.*?)\s*-->\s*$/;
const HEADING = /^#{1,6}\s+(.*?)\s*#*\s*$/;
const LINK = /!?\[[^\]]*\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g;
const REFERENCE = /^\[[^\]]+\]:\s+(\S+)/;

/** Returns every Markdown page of the checkout, except those of packages, and the index for agents. */
export function allPages(): Page[] {
  const found = ['*.md', 'llms.txt', '{docs,examples,clients,deploy,skills}/**/*.md'].flatMap((pattern) =>
    globSync(pattern, { cwd: inCheckout(), exclude: (path) => path.includes('node_modules') }),
  );
  return found.toSorted().map((path) => ({ path, parts: partsOf(readFileSync(inCheckout(path), 'utf8')) }));
}

/** Returns the parts of a page that this program needs. It does not check the rest. Lines count from 1. */
export function partsOf(markdown: string): Part[] {
  const parts: Part[] = [];
  const lines = markdown.split('\n');
  const anchors = new Map<string, number>();
  let above: Extract<Part, { kind: 'note' }>[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at] ?? '';
    const line = at + 1;
    const fence = FENCE.exec(text);
    const comment = COMMENT.exec(text);
    if (comment !== null) {
      above.push({ kind: 'note', line, text: comment[1] ?? '' });
      continue;
    }
    if (fence !== null) {
      const { body, end } = fenced(lines, at + 1, fence[1] ?? '', fence[2] ?? '');
      const notes = above.map((note) => note.text);
      parts.push({ kind: 'block', line, language: fence[3] ?? '', text: body, notes });
      above = [];
      at = end;
      continue;
    }
    parts.push(...above, ...inline(text, line, anchors));
    above = [];
  }
  return [...parts, ...above];
}

/** Returns the lines up to the closing fence, without the indentation of the opening one. */
function fenced(lines: string[], from: number, indent: string, fence: string): { body: string; end: number } {
  const closing = lines.findIndex((line, index) => index >= from && line.trim() === fence);
  if (closing < 0) throw new Error(`the block that begins at line ${from} has no end`);
  const body = lines
    .slice(from, closing)
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
  return { body: body.join('\n'), end: closing };
}

function inline(text: string, line: number, anchors: Map<string, number>): Part[] {
  const parts: Part[] = [];
  const heading = HEADING.exec(text);
  if (heading !== null) parts.push({ kind: 'heading', line, anchor: anchorOf(heading[1] ?? '', anchors) });
  const plain = text.replaceAll(/`[^`]*`/g, '``');
  for (const [, target = ''] of plain.matchAll(LINK)) parts.push({ kind: 'link', line, target });
  const reference = REFERENCE.exec(plain);
  if (reference !== null) parts.push({ kind: 'link', line, target: reference[1] ?? '' });
  return parts;
}

/**
 * Returns the anchor of a heading, as GitHub and similar sites create it. The second heading with the same words gets
 * `-1`.
 */
function anchorOf(heading: string, taken: Map<string, number>): string {
  const words = heading
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
  const before = taken.get(words) ?? 0;
  taken.set(words, before + 1);
  return before === 0 ? words : `${words}-${before}`;
}
