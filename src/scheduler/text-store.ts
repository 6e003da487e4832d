// Texts packed into large buffers. A hundred thousand strings of some hundred bytes each cost the collector of the JavaScript
// engine dearly; a few dozen buffers outside its heap cost it nothing.

const BUFFER_BYTES = 1 << 20

export class TextStore {
  /** All new and changed rows of one result. */
  static readonly BYTES_MAX = 256 << 20
  /** What `add` answers when there is no room. */
  static readonly FULL = -2

  readonly #buffers: Buffer[] = []
  /** Where each text is: its buffer, its first byte and the byte after its last, three numbers a text. */
  #places = new Uint32Array(3 * 1_024)
  #count = 0
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
    return this.#remember(buffer, start, start + length)
  }

  #remember(buffer: number, start: number, end: number): number {
    const at = 3 * this.#count
    if (at === this.#places.length) {
      const larger = new Uint32Array(2 * at)
      larger.set(this.#places)
      this.#places = larger
    }
    this.#places.set([buffer, start, end], at)
    return this.#count++
  }

  get(place: number): string {
    if (!(place >= 0 && place < this.#count)) throw new Error(`there is no text at ${place}`)
    const [buffer, start, end] = this.#places.subarray(3 * place)
    return this.#buffers[buffer!]!.toString('utf8', start, end)
  }
}
