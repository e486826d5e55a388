import { z } from 'zod';

/** A UUID in an answer. */
export const uuidOut = z.string().meta({ format: 'uuid' });

/** A time in an answer: ISO 8601 UTC with milliseconds. */
export const timestamp = z.string().meta({ format: 'date-time', examples: ['2026-01-31T12:00:00.000Z'] });
