// The API document as the two texts that are served: JSON, and a page for people. Making either takes longer than a request may hold up
// others, so each is made at its first request and kept.
import type { ApiDocument } from './api-document.ts';
import { contentPolicy, page } from './api-page.ts';

export class ApiTexts {
  /** The header Content-Security-Policy to send with the page. */
  readonly contentPolicy = contentPolicy;
  private readonly document: ApiDocument;
  private jsonText: string | null = null;
  private pageText: string | null = null;

  constructor(document: ApiDocument) {
    this.document = document;
  }

  get json(): string {
    this.jsonText ??= JSON.stringify(this.document);
    return this.jsonText;
  }

  /** HTML. */
  get page(): string {
    this.pageText ??= page(this.document);
    return this.pageText;
  }
}
