// The files of the web consoles as answers: a node serves the console of a node, the cloud its own. They share scripts and styles.
import type { readConsoleFile } from './console-files.adapter.ts';

export interface ConsoleAnswer {
  readonly headers: Record<string, string>;
  readonly bytes: Buffer;
}

/** Allows only the console's own files, and requests to the server that it came from. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css' };

export class ConsoleSite {
  readonly #readFile: typeof readConsoleFile;

  constructor(readFile: typeof readConsoleFile) {
    this.#readFile = readFile;
  }

  /** Null if the console is not built. `acceptEncoding` is the header of the request. */
  page(name: 'index' | 'cloud', acceptEncoding: string): Promise<ConsoleAnswer | null> {
    return this.#answer(`${name}.html`, acceptEncoding, { 'Content-Type': 'text/html; charset=utf-8' });
  }

  /** A script or a style sheet; null if there is none with this name. */
  async asset(file: string, acceptEncoding: string): Promise<ConsoleAnswer | null> {
    const [, name, kind] = /^([\w-]+\.(js|css))$/.exec(file) ?? [];
    if (name === undefined || kind === undefined) return null;
    return this.#answer(`assets/${name}`, acceptEncoding, {
      'Content-Type': `${types[kind]}; charset=utf-8`,
      // The name contains a digest of the content.
      'Cache-Control': 'public, max-age=31536000, immutable',
    });
  }

  async #answer(
    name: string,
    acceptEncoding: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<ConsoleAnswer | null> {
    const file = await this.#readFile(name, { gzip: acceptsGzip(acceptEncoding) });
    if (!file) return null;
    const common = {
      'Content-Security-Policy': contentPolicy,
      'Referrer-Policy': 'no-referrer',
      Vary: 'Accept-Encoding',
      'Content-Length': String(file.bytes.length),
      ...(file.isCompressed && { 'Content-Encoding': 'gzip' }),
    };
    return { headers: { ...headers, ...common }, bytes: file.bytes };
  }
}

/** By the header Accept-Encoding. A quality of 0, as in `gzip;q=0`, refuses an encoding. */
function acceptsGzip(header: string): boolean {
  const [, parameters] = /(?:^|,)\s*gzip\s*((?:;[^,]*)?)(?:,|$)/i.exec(header) ?? [];
  return parameters !== undefined && !/;\s*q\s*=\s*0(?:\.0*)?\s*$/i.test(parameters);
}
