// The runbook editor. The server's own validator and lint rules run in the browser while the person types: findings stand in the text
// and in the list below it, and nothing is sent anywhere.
import { autocompletion, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, foldGutter, foldKeymap } from '@codemirror/language'
import { type Diagnostic, forceLinting, linter, lintGutter, lintKeymap } from '@codemirror/lint'
import { EditorState, type Text } from '@codemirror/state'
import { EditorView, highlightActiveLineGutter, keymap, lineNumbers } from '@codemirror/view'
import { useEffect, useRef, useState } from 'react'
import {
  type FunctionCatalogue,
  type RunbookProblem,
  readRunbook,
} from '../../../../../src/domain/runbook/read.ts'
import { completionsOf } from './completion.ts'
import { ProblemList } from './problem-list.tsx'
import { appearance, shadowOf } from './shadow.ts'

const CHECK_AFTER_MS = 250

/** A valid text has a name; a faulty one has errors among its problems. */
export interface Checked {
  readonly name: string | null
  readonly problems: readonly RunbookProblem[]
}

interface EditorProps {
  readonly text: string
  /** Functions that workers announce, as publishing checks them. */
  readonly catalogues: readonly FunctionCatalogue[]
  readonly onChange: (text: string) => void
  readonly onChecked: (checked: Checked) => void
}

export default function Editor({ text, catalogues, onChange, onChecked }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const [problems, setProblems] = useState<readonly RunbookProblem[] | null>(null)
  const current = useRef({ catalogues, onChange, onChecked })
  useEffect(() => {
    current.current = { catalogues, onChange, onChecked }
  })
  // The text is the editor's own once it is open.
  const written = useRef(text)
  useEffect(() => {
    const check = (doc: Text): readonly Diagnostic[] => {
      const { runbook, problems: found } = readRunbook(doc.toString(), {
        catalogues: current.current.catalogues,
        isLinted: true,
      })
      setProblems(found)
      current.current.onChecked({ name: runbook?.name ?? null, problems: found })
      return found.map((problem) => diagnosticOf(problem, doc))
    }
    view.current = openEditor(host.current!, written.current, {
      check,
      catalogues,
      onChange: (now) => {
        written.current = now
        current.current.onChange(now)
      },
    })
    view.current.scrollDOM.tabIndex = 0
    forceLinting(view.current)
    return () => view.current?.destroy()
  }, [catalogues])
  return (
    <div className="runbook-editor">
      <div ref={host} className="editor-host" />
      <ProblemList
        problems={problems}
        onChoose={(problem) => view.current && jumpTo(view.current, problem)}
      />
    </div>
  )
}

interface Wiring {
  readonly check: (doc: Text) => readonly Diagnostic[]
  readonly catalogues: readonly FunctionCatalogue[]
  readonly onChange: (text: string) => void
}

function openEditor(host: HTMLElement, doc: string, wiring: Wiring): EditorView {
  const root = shadowOf(host)
  root.replaceChildren()
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        foldGutter(),
        lintGutter(),
        history(),
        bracketMatching(),
        yaml(),
        EditorState.tabSize.of(2),
        autocompletion({ override: [completionsOf(wiring.catalogues)], icons: false }),
        linter((view) => wiring.check(view.state.doc), { delay: CHECK_AFTER_MS }),
        // Without the Tab key: it leaves the editor, as everywhere on the page.
        keymap.of([
          ...completionKeymap,
          ...lintKeymap,
          ...foldKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        EditorView.contentAttributes.of({ 'aria-label': 'Runbook text' }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) wiring.onChange(state.doc.toString())
        }),
        appearance,
      ],
    }),
  })
}

function diagnosticOf(problem: RunbookProblem, doc: Text): Diagnostic {
  const from = offsetOf(problem, doc)
  const to = Math.min(from + Math.max(problem.text.length, 1), doc.length)
  const { severity, code, message } = problem
  return { from, to, severity, source: code, message }
}

function offsetOf({ line, column }: RunbookProblem, doc: Text): number {
  const at = doc.line(Math.min(line, doc.lines))
  return Math.min(at.from + column - 1, at.to)
}

function jumpTo(view: EditorView, problem: RunbookProblem): void {
  const anchor = offsetOf(problem, view.state.doc)
  view.dispatch({
    selection: { anchor },
    effects: EditorView.scrollIntoView(anchor, { y: 'center' }),
  })
  view.focus()
}
