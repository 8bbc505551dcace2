// The files of the page, read at the first request and cached: they are a few kilobytes.
import { readFile } from 'node:fs/promises';

export type UiFile = 'index.html' | 'style.css' | 'app.js';

const cache = new Map<UiFile, Promise<string>>();

export function readUiFile(name: UiFile): Promise<string> {
  const text = cache.get(name) ?? readFile(new URL(`./page/${name}`, import.meta.url), 'utf8');
  cache.set(name, text);
  return text;
}
