/** Key rings for the environments of several processes, and for rows that tests store themselves. */
export const SHARED_RINGS = {
  BATON_SEALING_KEYS: `shared:${Buffer.alloc(32, 3).toString('base64')}`,
  BATON_TOKEN_KEYS: `shared:${Buffer.alloc(32, 4).toString('base64')}`,
};
