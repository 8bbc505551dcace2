// Statements that this browser remembers: those that were run, and those saved under a name.

const historyKey = 'divan-statements';
const historyMax = 50;

/** The statements that were run, the newest first. */
export function history(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(historyKey) ?? '[]');
    return Array.isArray(stored) ? stored.filter((text) => typeof text === 'string') : [];
  } catch {
    return [];
  }
}

export function addToHistory(statement: string): void {
  const others = history().filter((each) => each !== statement);
  try {
    localStorage.setItem(historyKey, JSON.stringify([statement, ...others].slice(0, historyMax)));
  } catch {
    // The storage of the browser is full: the statement has run, and is not remembered.
  }
}

const savedKey = 'divan-saved-statements';
export const savedMax = 200;

/** Statements by their names, in the order of the names. */
export function savedStatements(): Readonly<Record<string, string>> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(savedKey) ?? '{}');
    const entries = Object.entries(stored ?? {}).filter(([, text]) => typeof text === 'string');
    return Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b)));
  } catch {
    return {};
  }
}

/**
 * Saves a statement under the name, or removes the saved one (null); returns all saved statements.
 * @throws Error when there are too many names already
 */
export function saveStatement(name: string, statement: string | null): Readonly<Record<string, string>> {
  const { [name]: _, ...others } = savedStatements();
  if (statement !== null && Object.keys(others).length >= savedMax)
    throw new Error(`${savedMax} statements are saved already: forget one of them first.`);
  const all = statement === null ? others : { ...others, [name]: statement };
  localStorage.setItem(savedKey, JSON.stringify(all));
  return savedStatements();
}
