-- glyphs.lua - the digits 0 to 9 as pictures of 5 x 7 points.
-- SPDX-License-Identifier: MIT
--
-- A list of strings of 35 characters, row after row: "#" is ink, " " paper.

return {
  " ### #   ##  ### # ###  ##   # ### ",
  "  #   ##    #    #    #    #   ### ",
  " ### #   #    #   #   #   #   #####",
  "#####   #   #     #     ##   # ### ",
  "   #   ##  # # #  # #####   #    # ",
  "######    ####     #    ##   # ### ",
  "  ##  #   #    #### #   ##   # ### ",
  "#####    #   #   #   #    #    #   ",
  " ### #   ##   # ### #   ##   # ### ",
  " ### #   ##   # ####    #   #  ##  ",
}
