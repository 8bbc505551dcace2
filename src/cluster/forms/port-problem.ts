/** The reason why a port number is invalid for a listener; null if it is valid. */
export function portProblem(text: string): string | null {
  if (!/^\s*\d+\s*$/.test(text)) return 'Port must be a number.';
  const port = Number(text);
  if (port > 1023 && port < 65_536) return null;
  return 'The port number must be greater than 1023 and less than 65536.';
}
