// The names of keys in a NATS key-value bucket, which allows few characters: letters, digits, "-", "_" and "/" stay, every other byte of
// UTF-8 becomes "=" and two hex digits. So `nats kv get` reads the configuration by names that people recognise.

export const streamOf = (bucket: string): string => `KV_${bucket}`;
const prefixOf = (bucket: string): string => `$KV.${bucket}.`;
export const subjectsOf = (bucket: string): string => `${prefixOf(bucket)}>`;
export const isBucketName = (name: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(name);

export const keySubject = (bucket: string, key: string): string => prefixOf(bucket) + escaped(key);

/** Null for a subject that no key of this store has. */
export function keyOfSubject(bucket: string, subject: string): string | null {
  const prefix = prefixOf(bucket);
  if (!subject.startsWith(prefix)) return null;
  const key = unescaped(subject.slice(prefix.length));
  return key !== null && keySubject(bucket, key) === subject ? key : null;
}

const escaped = (key: string): string =>
  key.replace(/[^a-zA-Z0-9_/-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `=${byte.toString(16).padStart(2, '0')}`).join(''),
  );

function unescaped(text: string): string | null {
  if (!/^([a-zA-Z0-9_/-]|=[0-9a-f]{2})*$/.test(text)) return null;
  const bytes = text.replace(/=(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
