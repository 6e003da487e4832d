// Texts of the API: their instants are shown as times of the viewer.
import { Time } from './time.tsx'

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

interface TextProps {
  readonly text: string
}

/** A part of a sentence, as it is. */
export const TextWithTimes = ({ text }: TextProps) =>
  text.split(INSTANT).map((part, at) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text, without a state
    at % 2 === 1 ? <Time key={at} at={part} /> : part,
  )

/** Its first letter is a capital. */
export const Sentence = ({ text }: TextProps) => (
  <TextWithTimes text={`${text.charAt(0).toUpperCase()}${text.slice(1)}`} />
)
