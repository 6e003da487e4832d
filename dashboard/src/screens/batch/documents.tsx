// What people take away from a batch. A link could not fetch it, because it sends no token; so a page is opened from memory, where the
// dashboard's policy allows its style and nothing else.
import { useState } from 'react'
import { client } from '../../api/call.ts'
import type { Reading, RequestOf } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { saveFile } from '../../ui/csv-button.tsx'
import { ErrorNote } from '../../ui/feedback.tsx'
import { Section } from '../../ui/page.tsx'

const { timeZone: zone } = new Intl.DateTimeFormat().resolvedOptions()

export function Documents({ batchId }: { readonly batchId: number }) {
  const { mayChange } = useSession()
  const [busy, setBusy] = useState<string | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const take = async (name: string, load: () => Promise<void>) => {
    setBusy(name)
    setError(null)
    await load().catch((failure: Error) => setError(failure))
    setBusy(null)
  }
  const button = (name: string, load: () => Promise<void>) => (
    <Button onClick={() => void take(name, load)} disabled={busy !== null}>
      {busy === name ? 'Preparing …' : name}
    </Button>
  )
  const report = (format: 'csv' | 'html' | 'json') => ({
    params: { batchId },
    query: { format, zone },
  })
  const endpoint = 'GET /api/batches/{batchId}/report'
  return (
    <Section title="Documents">
      <p>They name people: share them with care.</p>
      <div className="actions">
        {button('Open report', () => openInTab(endpoint, report('html')))}
        {button('Download report as CSV', () =>
          download(endpoint, report('csv'), `batch-${batchId}-report.csv`),
        )}
        {button('Download report as JSON', () =>
          download(endpoint, report('json'), `batch-${batchId}-report.json`),
        )}
        {button('Open run sheet', () =>
          openInTab('GET /api/batches/{batchId}/run-sheet', {
            params: { batchId },
            query: { zone },
          }),
        )}
        {mayChange &&
          button('Download evidence pack', () =>
            download(
              'GET /api/batches/{batchId}/evidence',
              { params: { batchId } },
              `batch-${batchId}-evidence.tar.gz`,
            ),
          )}
      </div>
      {error && <ErrorNote error={error} />}
    </Section>
  )
}

async function download<E extends Reading>(endpoint: E, given: RequestOf<E>, name: string) {
  saveFile(await (await client.raw(endpoint, given, { accept: '*/*' })).blob(), name)
}

/** The tab opens with the click, or browsers take it for a pop-up. */
async function openInTab<E extends Reading>(endpoint: E, given: RequestOf<E>) {
  const tab = window.open('', '_blank')
  try {
    const page = await (await client.raw(endpoint, given, { accept: 'text/html' })).blob()
    if (tab === null)
      throw new Error('The browser has refused the new tab. Allow it and try again.')
    tab.location.href = URL.createObjectURL(page)
  } catch (error) {
    tab?.close()
    throw error
  }
}
