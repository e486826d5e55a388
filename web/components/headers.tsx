import classes from './headers.module.css';

type HeadersProps = { headers: Readonly<Record<string, string>>; isOpen?: boolean };

/** The headers of a request or a response, folded unless `isOpen`. */
export function Headers({ headers, isOpen = false }: HeadersProps) {
  const names = Object.keys(headers);
  if (names.length === 0) return null;
  return (
    <details className={classes['headers']} open={isOpen}>
      <summary>
        {names.length} {names.length === 1 ? 'header' : 'headers'}
      </summary>
      <dl>
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{headers[name]}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
