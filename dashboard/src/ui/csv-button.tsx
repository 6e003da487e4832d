// A whole list as a CSV file. The API sends it to those who ask for text/csv; a link could not, because it sends no token.
import { useState } from 'react'
import { client } from '../api/call.ts'
import type { Reading, RequestOf } from '../api/routes.ts'
import { Button } from './button.tsx'
import { ErrorNote } from './feedback.tsx'

interface CsvButtonProps<E extends Reading> {
  readonly endpoint: E
  readonly given: RequestOf<E>
  /** The name of the file, without its ending. */
  readonly name: string
}

export function CsvButton<E extends Reading>({ endpoint, given, name }: CsvButtonProps<E>) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const save = async () => {
    setBusy(true)
    setError(null)
    try {
      const answer = await client.raw(endpoint, given, { accept: 'text/csv' })
      saveFile(await answer.blob(), `${name}.csv`)
    } catch (failure) {
      setError(failure as Error)
    }
    setBusy(false)
  }
  return (
    <>
      <Button onClick={() => void save()} disabled={isBusy}>
        {isBusy ? 'Preparing …' : 'Download CSV'}
      </Button>
      {error && <ErrorNote error={error} />}
    </>
  )
}

export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
