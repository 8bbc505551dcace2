// The editor of statements and documents, CodeMirror; code-field.tsx loads this file when one is opened. The editor is in a shadow root:
// there its styles are constructed sheets, which the content policy permits. The page's design tokens reach it as custom properties.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { Compartment } from '@codemirror/state';
import { EditorView, highlightSpecialChars, keymap } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { type CodeLanguage, languages } from './code-languages.ts';

export interface EditorOptions {
  readonly language: CodeLanguage;
  readonly text: string;
  readonly rows: number;
  readonly onInput: (text: string) => void;
}

export interface EditorLabels {
  readonly label: string;
  readonly description: string;
  readonly isInvalid: boolean;
}

export interface CodeEditor {
  /** Replaces the text, unless it is the same. */
  replace(text: string): void;
  describe(labels: EditorLabels): void;
  focus(from: number, to: number): void;
  close(): void;
}

export function openEditor(host: HTMLElement, { language, text, rows, onInput }: EditorOptions): CodeEditor {
  const attributes = new Compartment();
  let currentText = text;
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    doc: text,
    extensions: [
      history(),
      highlightSpecialChars(),
      bracketMatching(),
      languages[language],
      syntaxHighlighting(colours),
      editorTheme,
      EditorView.theme({ '.cm-content': { minHeight: `${rows * lineHeight}em` } }),
      EditorView.lineWrapping,
      EditorView.domEventHandlers({ beforeinput: replaceSelected }),
      keymap.of([...editorKeys, ...historyKeymap]),
      attributes.of([]),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (!docChanged) return;
        currentText = state.doc.toString();
        onInput(currentText);
      }),
    ],
  });
  return {
    replace(wanted) {
      if (wanted === currentText) return;
      currentText = wanted;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: wanted } });
    },
    describe({ label, description, isInvalid }) {
      const named = {
        'aria-label': label,
        'aria-description': description,
        spellcheck: 'false',
        autocapitalize: 'none',
        ...(isInvalid && { 'aria-invalid': 'true' }),
      };
      view.dispatch({ effects: attributes.reconfigure(EditorView.contentAttributes.of(named)) });
    },
    focus(from, to) {
      const { length } = view.state.doc;
      view.dispatch({ selection: { anchor: Math.min(from, length), head: Math.min(to, length) } });
      view.focus();
    },
    close: () => view.destroy(),
  };
}

/**
 * Text over a selection. Chromium would keep the colour of what was selected by an inline style, which the content policy refuses and
 * the browser reports.
 */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  const { data, inputType, isComposing } = event;
  if (inputType !== 'insertText' || data === null || isComposing) return false;
  const { main } = view.state.selection;
  const { from, to } = main.empty ? selectedIn(view) : main;
  if (from === to) return false;
  view.dispatch({
    changes: { from, to, insert: data },
    selection: { anchor: from + data.length },
    userEvent: 'input.type',
    scrollIntoView: true,
  });
  event.preventDefault();
  return true;
}

/** What the browser has selected; the view may not have seen it yet. */
function selectedIn(view: EditorView): { from: number; to: number } {
  // Not every browser has the selection of a shadow root.
  const { anchorNode, anchorOffset, focusNode, focusOffset } = selectionOf(view.root) ?? {};
  if (!anchorNode || !focusNode || !view.contentDOM.contains(anchorNode)) return { from: 0, to: 0 };
  const anchor = view.posAtDOM(anchorNode, anchorOffset);
  const focus = view.posAtDOM(focusNode, focusOffset);
  return { from: Math.min(anchor, focus), to: Math.max(anchor, focus) };
}

function selectionOf(root: DocumentOrShadowRoot): Selection | null {
  const { getSelection } = root as Partial<Pick<Document, 'getSelection'>>;
  return getSelection ? getSelection.call(root) : document.getSelection();
}

const lineHeight = 1.4;

/** The tab key leaves the editor; Ctrl+Enter belongs to the form. */
const editorKeys = defaultKeymap.filter(({ key }) => key !== 'Mod-Enter');

const editorTheme = EditorView.theme({
  '&': {
    border: '1px solid var(--quiet)',
    borderRadius: 'var(--radius)',
    background: 'var(--page)',
    color: 'var(--text)',
    fontSize: '0.9rem',
  },
  '&.cm-focused': { outline: '3px solid var(--strong)', outlineOffset: '2px' },
  '&:has([aria-invalid])': { borderColor: 'var(--wrong)' },
  '.cm-scroller': {
    overflow: 'auto',
    maxHeight: '60vh',
    fontFamily: 'var(--mono)',
    lineHeight: `${lineHeight}`,
  },
  '.cm-content': { padding: '0.5rem 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 0.75rem', overflowWrap: 'anywhere' },
  '&.cm-focused .cm-matchingBracket': { background: 'var(--good-ground)', color: 'var(--good)' },
  '&.cm-focused .cm-nonmatchingBracket': { background: 'var(--wrong-ground)', color: 'var(--wrong)' },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--strong)' },
  { tag: tags.propertyName, color: 'var(--strong)' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: tags.number, color: 'var(--series-2)' },
  { tag: tags.atom, color: 'var(--series-4)' },
  { tag: tags.comment, color: 'var(--quiet)' },
]);
