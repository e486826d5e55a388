import { allPages } from '../../dev/docs/markdown.ts';
import { stepsOf } from '../../dev/docs/steps.ts';

/** The tests of a package follow its own pages, where it is installed. */
const ELSEWHERE = /^clients\//;

/** Pages that tell readers to type something. */
export const pages = allPages().filter((page) => !ELSEWHERE.test(page.path) && stepsOf(page).length > 0);
