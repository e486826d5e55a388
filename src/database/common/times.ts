import { PostgreSqlPlatform } from '@mikro-orm/postgresql';

const platform = new PostgreSqlPlatform();

/**
 * Returns the time that PostgreSQL wrote as text, for times that callers choose: the constructor of `Date` takes the year
 * 0044 for 2044, and rejects 0031.
 */
export function readTime(text: string): Date {
  return platform.parseDate(text);
}
