/** Exit code of a part of `npm run check` that could not check anything (EX_TEMPFAIL of sysexits.h). */
export const NOT_CHECKED = 75;
