// Removes secrets and long values from the input of a change before the audit trail stores it.

const hidden = '********';
const secretName = /pass|secret|token|cookie|credential|private|cert|pem|key|hash|salt|session|signature/i;
const plainName = /^[\w.[\]-]{1,64}$/;
/** Up to the last at sign of the account: a password may contain one. */
const credentialsInAddress = /\/\/[^/\s]*@/g;
const fieldsMax = 50;
const valueMax = 200;

/** Names and values of the fields sent; of other bodies only the size. */
export function redacted(sent: unknown): Record<string, unknown> {
  if (Buffer.isBuffer(sent)) return sent.length === 0 ? {} : { bytes: sent.length };
  if (typeof sent !== 'object' || sent === null) return {};
  if (Array.isArray(sent)) return { entries: sent.length };
  const fields = Object.entries(sent).slice(0, fieldsMax);
  return Object.fromEntries(fields.map(([name, value]) => [shownName(name), shownValue(name, value)]));
}

const shownName = (name: string): string => (plainName.test(name) ? name : '?');

function shownValue(name: string, value: unknown): unknown {
  if (!plainName.test(name) || secretName.test(name)) return hidden;
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  // Lists show only their length, objects nothing: they may contain anything.
  if (typeof value === 'object') return Array.isArray(value) ? { entries: value.length } : hidden;
  const text = String(value).replaceAll(credentialsInAddress, `//${hidden}@`);
  return text.length > valueMax ? `${text.slice(0, valueMax)}…` : text;
}
