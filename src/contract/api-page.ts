// Renders the API document as a plain HTML page without scripts or external resources.
import { createHash } from 'node:crypto';
import { escapeHtml } from '#base/html.ts';
import type { ApiDocument, ApiOperation } from './api-document.ts';

const style = `
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}
body{max-width:62rem;margin:0 auto;padding:1rem}
nav{columns:14rem;margin:1rem 0}
details{border-top:1px solid #8884;padding:.4rem 0}
summary{cursor:pointer}
summary b{display:inline-block;min-width:4.5rem;font-family:ui-monospace,monospace}
code,pre{font-family:ui-monospace,monospace;font-size:.92em}
pre{overflow:auto;background:#8881;padding:.6rem}
table{border-collapse:collapse;width:100%}
td,th{border-top:1px solid #8883;padding:.2rem .6rem .2rem 0;text-align:left;vertical-align:top}
`;

/** Content-Security-Policy: the page's own style sheet and nothing else. */
export const contentPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export function page(document: ApiDocument): string {
  const { info, tags } = document;
  const links = tags.map(({ name }) => `<a href="#${escapeHtml(name)}">${escapeHtml(titleOf(name))}</a><br>`);
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    `<title>${escapeHtml(info.title)}</title><style>${style}</style></head><body>`,
    `<h1>${escapeHtml(info.title)}</h1><p>Version ${escapeHtml(info.version)}. ${marked(info.description)} `,
    'For programs: <a href="/openapi.json">openapi.json</a>.</p>',
    `<nav>${links.join('')}</nav>`,
    ...tags.map(({ name }) => section(document, name)),
    '</body></html>\n',
  ].join('');
}

function section(document: ApiDocument, tag: string): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([method, operation]) => operationPart(method, path, operation)),
  );
  return `<h2 id="${escapeHtml(tag)}">${escapeHtml(titleOf(tag))}</h2>${operations.join('')}`;
}

const titleOf = (tag: string): string => `${tag.charAt(0).toUpperCase()}${tag.slice(1).replaceAll('_', ' ')}`;

function operationPart(method: string, path: string, operation: ApiOperation): string {
  const { summary, description, parameters, requestBody, responses } = operation;
  return [
    `<details id="${escapeHtml(operation.operationId)}"><summary><b>${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code></summary>`,
    `<p>${marked(summary)} ${marked(description ?? '')}</p>`,
    parameters ? parameterTable(parameters as Parameter[]) : '',
    requestBody ? `<p>Body:</p>${json(requestBody)}` : '',
    responseTable(responses),
    '</details>',
  ].join('');
}

interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema: unknown;
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(
    (parameter) =>
      `<tr><td><code>${escapeHtml(parameter.name)}</code></td><td>${parameter.in}</td><td>${marked(parameter.description ?? '')} <code>${escapeHtml(JSON.stringify(parameter.schema))}</code></td></tr>`,
  );
  return `<table><tr><th>parameter</th><th>in</th><th>meaning</th></tr>${rows.join('')}</table>`;
}

function responseTable(responses: ApiOperation['responses']): string {
  const rows = Object.entries(responses).map(([status, { description, content }]) => {
    const contentText = content ? json(content) : '';
    return `<tr><td>${status}</td><td>${marked(description)}${contentText}</td></tr>`;
  });
  return `<table><tr><th>status</th><th>answer</th></tr>${rows.join('')}</table>`;
}

const json = (value: unknown): string => `<pre>${escapeHtml(JSON.stringify(value, null, 1))}</pre>`;

/** Text with code in backticks. */
const marked = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
