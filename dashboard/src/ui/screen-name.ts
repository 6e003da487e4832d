// The folder of the screen that is shown. Its styles apply inside `data-screen` only; a dialog stands outside the screen and says it too.
import { createContext } from 'react'

export const ScreenName = createContext('')
