// The messages of a runbook as a person would get them, for a made-up member. Of the active version, or of the text in the editor, which is
// followed while it is written.
import { useEffect, useState } from 'react'
import { usePreview } from '../../api/hooks.ts'
import { Previewed } from '../../members/message-preview.tsx'
import { Empty, ErrorNote, Loading } from '../../ui/feedback.tsx'
import { Section } from '../../ui/page.tsx'
import type { TabProps } from './runbook.tsx'

const TYPING_MS = 500

export const MessagesTab = ({ runbook }: TabProps) => <MessagesOf name={runbook.name} />

export function MessagesOf({ name, yaml }: { readonly name: string; readonly yaml?: string }) {
  const text = useSettled(yaml)
  const [message, setMessage] = useState('')
  const [language, setLanguage] = useState('')
  const reading = usePreview('POST /api/runbooks/{name}/preview-message', {
    params: { name },
    body: {
      ...(text !== undefined && { yamlContent: text }),
      ...(message && { message }),
      ...(language && { language }),
    },
  })
  const hasNone = reading.error?.code === 'MESSAGE_NOT_FOUND'
  return (
    <Section title="Messages">
      {hasNone && (
        <Empty title="No message to preview">
          <p>{reading.error!.message}</p>
        </Empty>
      )}
      {reading.error && !hasNone && <ErrorNote error={reading.error} />}
      {reading.isPending && <Loading what="the message" />}
      {reading.data && (
        <Previewed
          preview={reading.data}
          onMessage={setMessage}
          onLanguage={setLanguage}
          isLanguageChosen={language !== ''}
        />
      )}
    </Section>
  )
}

/** The text once nobody types any more. */
function useSettled(text: string | undefined): string | undefined {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
