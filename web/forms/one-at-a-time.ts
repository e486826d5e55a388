/**
 * Returns a function that starts work unless earlier work is still pending. A double click is faster than a button is
 * disabled. Work reports its own errors.
 */
export function createOneAtATime(): (work: () => Promise<unknown>) => void {
  let isPending = false;
  return (work) => {
    if (isPending) return;
    isPending = true;
    const end = () => {
      isPending = false;
    };
    work().then(end, end);
  };
}
