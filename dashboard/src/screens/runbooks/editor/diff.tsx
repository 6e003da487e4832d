// Two texts as one with their differences: taken lines with a minus, new ones with a plus, long equal parts folded.
import { yaml } from '@codemirror/lang-yaml'
import { unifiedMergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { appearance, shadowOf } from './shadow.ts'

const EQUAL_LINES = 3

interface DiffProps {
  readonly before: string
  readonly after: string
  readonly label: string
}

export default function Diff({ before, after, label }: DiffProps) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const root = shadowOf(host.current!)
    root.replaceChildren()
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: after,
        extensions: [
          lineNumbers(),
          yaml(),
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            gutter: false,
            allowInlineDiffs: false,
            collapseUnchanged: { margin: EQUAL_LINES, minSize: EQUAL_LINES * 2 },
          }),
          appearance,
        ],
      }),
    })
    // Scrolls by itself, so the keyboard must reach it.
    view.scrollDOM.tabIndex = 0
    return () => view.destroy()
  }, [before, after, label])
  return <div ref={host} className="editor-host" />
}
