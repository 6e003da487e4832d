// Texts packed into large buffers. A hundred thousand strings of some hundred bytes each cost the collector of the JavaScript
// engine dearly; a few dozen buffers outside its heap cost it nothing.

const BUFFER_BYTES = 1 << 20

export class TextStore {
  /** All new and changed rows of one result. */
  static readonly BYTES_MAX = 256 << 20
  /** What `add` answers when there is no room. */
  static readonly FULL = -2

  readonly #buffers: Buffer[] = []
  /** Where each text is. */
  readonly #texts: { buffer: number; start: number; end: number }[] = []
  #room = 0
  #bytes = 0

  /** The text's place. */
  add(text: string): number {
    const length = Buffer.byteLength(text)
    this.#bytes += length
    if (this.#bytes > TextStore.BYTES_MAX) return TextStore.FULL
    if (length > this.#room || this.#buffers.length === 0) {
      this.#room = Math.max(BUFFER_BYTES, length)
      this.#buffers.push(Buffer.allocUnsafeSlow(this.#room))
    }
    const buffer = this.#buffers.length - 1
    const bytes = this.#buffers[buffer]!
    const start = bytes.length - this.#room
    bytes.write(text, start)
    this.#room -= length
    return this.#texts.push({ buffer, start, end: start + length }) - 1
  }

  get(place: number): string {
    const text = this.#texts[place]
    if (!text) throw new Error(`there is no text at ${place}`)
    return this.#buffers[text.buffer]!.toString('utf8', text.start, text.end)
  }
}
