-- inside.lua - returns the internal table of an array, which scripts never see.
-- SPDX-License-Identifier: MIT

return function(a) return (debug.getuservalue(a, 1)) end
