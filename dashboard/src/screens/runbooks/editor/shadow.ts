// CodeMirror in a shadow root: there its rules are adopted style sheets, which a strict content security policy allows. In the page
// itself they would be style elements, which it refuses. Colours come from the page's names and follow its theme.
import { defaultHighlightStyle, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'

/** The shadow root of the element, made once. */
export const shadowOf = (host: HTMLElement): ShadowRoot =>
  host.shadowRoot ?? host.attachShadow({ mode: 'open' })

const theme = EditorView.theme({
  '&': {
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    fontSize: '0.9rem',
    maxHeight: 'var(--editor-height, 60vh)',
  },
  '&.cm-focused': { outline: '2px solid var(--brand)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--raised)',
    color: 'var(--quiet)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--busy-soft)', color: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { backgroundColor: 'var(--busy-soft)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    maxWidth: 'min(34rem, 80vw)',
  },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--brand)',
    color: 'var(--on-brand)',
  },
  '.cm-completionDetail': { fontStyle: 'normal', color: 'inherit' },
  '.cm-diagnostic': { padding: '0.3rem 0.6rem', fontFamily: 'system-ui, sans-serif' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
    textUnderlineOffset: '3px',
  },
  '.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--warn)',
    textUnderlineOffset: '3px',
  },
  '.cm-lint-marker': { content: 'none', textAlign: 'center', fontWeight: '700', lineHeight: '1.4' },
  '.cm-lint-marker-error::before': { content: '"×"', color: 'var(--bad)' },
  '.cm-lint-marker-warning::before': { content: '"!"', color: 'var(--warn)' },
  // A sign next to the colour of changed lines.
  '.cm-insertedLine, .cm-changedLine': { backgroundColor: 'var(--good-soft) !important' },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-soft) !important', paddingLeft: '0' },
  '.cm-deletedLine': { textDecoration: 'none', paddingLeft: '6px' },
  '.cm-deletedLine::before': { content: '"− "', color: 'var(--bad)' },
  '.cm-deletedLine del': { textDecoration: 'none' },
  '.cm-changedLine::before': { content: '"+ "', color: 'var(--good)' },
  '.cm-changedText': { background: 'none !important', textDecoration: 'underline' },
  '.cm-deletedText': { background: 'none !important', textDecoration: 'underline' },
  '.cm-collapsedLines': {
    background: 'var(--raised) !important',
    color: 'var(--quiet) !important',
    padding: '0.2rem 0.5rem',
  },
})

/** The default style with the page's colours instead of its own, which have too little contrast on dark ground. */
const COLOURS: Readonly<Record<string, string>> = {
  '#00c': 'var(--busy)',
  '#00f': 'var(--busy)',
  '#708': 'var(--busy)',
  '#219': 'var(--good)',
  '#164': 'var(--good)',
  '#940': 'var(--quiet)',
  '#404740': 'var(--quiet)',
  '#f00': 'var(--bad)',
}
const colours = HighlightStyle.define(
  defaultHighlightStyle.specs.map(({ color, ...spec }) => ({
    ...spec,
    ...(color !== undefined && { color: COLOURS[String(color)] ?? 'var(--text)' }),
  })),
)

export const appearance: Extension = [theme, syntaxHighlighting(colours)]
