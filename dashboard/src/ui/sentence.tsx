// A sentence of the API: its instants are shown as times of the viewer, its first letter is a capital.
import { Time } from './time.tsx'

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

export function Sentence({ text }: { readonly text: string }) {
  const parts = `${text.charAt(0).toUpperCase()}${text.slice(1)}`.split(INSTANT)
  return (
    <>
      {parts.map((part, at) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text, without a state
        at % 2 === 1 ? <Time key={at} at={part} /> : part,
      )}
    </>
  )
}
