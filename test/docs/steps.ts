import { allPages } from '../../dev/docs/markdown.ts';
import { stepsOf } from '../../dev/docs/steps.ts';

/** The tests of a package run its pages, where it is installed. */
const ELSEWHERE = /^clients\//;

/** Pages with commands for readers. */
export const pages = allPages().filter((page) => !ELSEWHERE.test(page.path) && stepsOf(page).length > 0);
