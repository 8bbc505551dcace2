// Loads data for a page, again after a change and, if asked, at an interval while the page is visible.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/request.ts';

export interface Resource<T> {
  /** The newest data; kept while a newer load fails. */
  readonly data: T | undefined;
  readonly problem: ApiError | undefined;
  reload(): void;
}

/** Sent to the window when a session that had ended is replaced. */
export const signedInAgain = 'divan-signed-in-again';

/** The pause after a failed first load whose result would say the interval. */
const retryMs = 5_000;

/** `load` is called again when one of `keys` changes, and `everyMs` after each load; 0: not again. */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[] = [],
  everyMs: number | ((data: T) => number) = 0,
): Resource<T> {
  const [state, setState] = useState<{ data?: T; problem?: ApiError }>({});
  const [reloads, setReloads] = useState(0);
  const loading = useRef(load);
  loading.current = load;
  const reload = useCallback(() => setReloads((number) => number + 1), []);
  useEffect(() => {
    addEventListener(signedInAgain, reload);
    return () => removeEventListener(signedInAgain, reload);
  }, [reload]);
  // Before the browser paints: what belongs to the earlier keys is not shown with the new ones.
  useLayoutEffect(() => setState({}), keys);
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    let newest: { readonly data: T } | undefined;
    const run = async () => {
      try {
        if (!newest || !document.hidden) {
          const data = await loading.current(abort.signal);
          newest = { data };
          if (!abort.signal.aborted) setState({ data });
        }
      } catch (error) {
        if (!abort.signal.aborted)
          setState(({ data }) => ({ ...(data !== undefined && { data }), problem: asApiError(error) }));
      }
      const pauseMs = typeof everyMs === 'number' ? everyMs : newest ? everyMs(newest.data) : retryMs;
      if (pauseMs > 0 && !abort.signal.aborted) timer = window.setTimeout(() => void run(), pauseMs);
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [...keys, reloads, typeof everyMs === 'number' ? everyMs : 0]);
  return { data: state.data, problem: state.problem, reload };
}

export const asApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError(0, (error as Error).message);

/** A change that a control starts: whether it runs, and why the last run failed. */
export interface Action {
  readonly isBusy: boolean;
  /** Whether the last run succeeded. */
  readonly isDone: boolean;
  readonly problem?: ApiError;
  /** Resolves with whether `act` succeeded. */
  run(act: () => Promise<unknown>): Promise<boolean>;
}

export function useAction(): Action {
  const [state, setState] = useState<Omit<Action, 'run'>>({ isBusy: false, isDone: false });
  const run = async (act: () => Promise<unknown>): Promise<boolean> => {
    setState({ isBusy: true, isDone: false });
    try {
      await act();
      setState({ isBusy: false, isDone: true });
      return true;
    } catch (error) {
      setState({ isBusy: false, isDone: false, problem: asApiError(error) });
      return false;
    }
  };
  return { ...state, run };
}
