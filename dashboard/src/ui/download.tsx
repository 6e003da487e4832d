// A file of the API. A link could not send the token, so the page fetches the file and hands it to the browser.
import { useState } from 'react'
import { request } from '../api/call.ts'
import type { Given, Reading } from '../api/routes.ts'
import { Button } from './button.tsx'
import { ErrorNote } from './feedback.tsx'

interface DownloadProps<E extends Reading> {
  readonly endpoint: E
  readonly given: Given<E>
  readonly accept: string
  readonly fileName: string
  readonly children: string
}

export function Download<E extends Reading>(props: DownloadProps<E>) {
  const { endpoint, given, accept, fileName, children } = props
  const [state, setState] = useState<'idle' | 'busy' | Error>('idle')
  const download = async () => {
    setState('busy')
    try {
      const answer = await request(endpoint, given, { accept })
      save(await answer.blob(), fileName)
      setState('idle')
    } catch (error) {
      setState(error as Error)
    }
  }
  return (
    <>
      <Button disabled={state === 'busy'} onClick={() => void download()}>
        {state === 'busy' ? 'Loading …' : children}
      </Button>
      {state instanceof Error && <ErrorNote error={state} />}
    </>
  )
}

function save(file: Blob, fileName: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = fileName
  link.click()
  URL.revokeObjectURL(link.href)
}
