// `npm run fuzz`: hostile input for as long as wanted (test/proof/fuzz). `--help` says what can be asked.
import { main } from '../test/proof/fuzz/main.ts'

process.exit(await main(process.argv.slice(2)))
